"""Summarizers: they turn several texts into one short text."""
