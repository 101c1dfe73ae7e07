"""From hits to an answer: what is kept of them, how it is packed, who is asked."""
