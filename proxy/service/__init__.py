"""The long-lived recorder: what it is told, how it runs, and what it tells those who look after it."""
