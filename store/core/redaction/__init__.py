"""The rooms of redaction: what is secret by its place, by its shape, or by being known, and how it is taken out."""
