"""Clips assessed: what is asked, how it is answered, what to be careful about, and every form in which it is given."""
