"""Chance against all that takes what others wrote (``make fuzz``)."""
