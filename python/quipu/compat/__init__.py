"""Faces of other databases over Quipu, for programs that were written for them."""
