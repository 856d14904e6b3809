"""Interfaces of other databases on top of Quipu, for programs that were written for them."""
