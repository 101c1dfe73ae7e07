"""Summarizers: many texts in, few words out."""
