"""WebSockets (RFC 6455) replayed: message for message, each of the server's after what it came after."""
