"""Modules that run inside Harbor's own Python, where skilljuror is not installed.

This folder alone goes on its PYTHONPATH: the modules use the standard library and `harbor`, and
their names are long so that they hide no other's.
"""
