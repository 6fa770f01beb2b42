"""Those outside the operator's reach: time stamp authorities (RFC 3161) and witnesses (C2SP tlog-witness).

`post` speaks to them, `stamp` and `witness` know their protocols, `keeping` puts what they say into the log, `round`
does all of it once.
"""
