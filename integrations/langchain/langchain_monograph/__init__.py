"""Monograph for LangChain."""
