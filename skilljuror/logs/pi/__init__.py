"""Pi: sessions."""
