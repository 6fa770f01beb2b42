"""The demo: a real agent, a real model and a real tool server, recorded, proved and replayed."""
