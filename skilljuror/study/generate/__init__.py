"""Generate Skills: a generator is a study whose answer is a folder."""
