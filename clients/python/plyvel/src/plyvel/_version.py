"""The version of plyvel whose interface this is."""

__version__ = "1.5.1"
