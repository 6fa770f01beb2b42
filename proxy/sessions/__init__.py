"""What a verb carries out from start to end: a recording, a replay, a service, many of them."""
