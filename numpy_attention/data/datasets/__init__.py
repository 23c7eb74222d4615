"""The corpora that the package ships, makes or downloads."""
