"""Plain forms that no lesson has by themselves: exercises are cut from them."""
