"""The roof: wires the recorder and the replay server together under one command line; nothing imports it."""
