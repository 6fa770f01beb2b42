"""First floor: the disk. One way in (writer), one way out (reader)."""

__version__ = "0.1.0"
