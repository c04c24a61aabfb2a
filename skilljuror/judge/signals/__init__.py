"""Signs of uptake beyond single features: values together, output restated, files of scripts used."""
