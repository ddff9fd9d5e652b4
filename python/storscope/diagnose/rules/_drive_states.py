"""What the state of a drive means, in the words of arrays; shared by the rules about drives."""

from __future__ import annotations

import re
from typing import Final

STATE_BAD: Final = re.compile(r"(?i).*\b(fail\w*|fault\w*|dead|broken|missing|inoperative|inoperable|predict\w*).*")
STATE_BUSY: Final = re.compile(r"(?i).*\b(rebuild\w*|reconstruct\w*|copy.?back|recovering|resync\w*).*")
STATE_SPARE: Final = re.compile(r"(?i).*\b(spare|available)\b.*")
STATE_GOOD: Final = re.compile(
    r"(?i)\s*(normal|good|ok|online|optimal|up|active|healthy|spare|hot.?spare|available|ready)\s*"
)
