"""Windows performance counters in other languages: the objects and counters that storage needs.

Windows writes counter names in the language of the system. English is verified against captures, and so is the Czech
name of the object PhysicalDisk. Everything else here is from general knowledge of localised systems and [unverified]:
a name that is wrong here leads to a plain counter under its own name, never to a wrong value. Names differ between
versions of Windows, so a counter may have several. What is missing can be captured in English with the counters'
numbers, or read from the registry (`Perflib\\<language>`).
"""

from __future__ import annotations

from typing import Final

OBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "PhysicalDisk": (
        "Physischer Datenträger", "Physikalischer Datenträger",  # German
        "Disque physique",  # French
        "Disco físico",  # Spanish, Portuguese
        "Disco fisico",  # Italian
        "Fyzický disk",  # Czech, verified
        "Fysieke schijf",  # Dutch
        "Dysk fizyczny",  # Polish
        "Fysisk disk",  # Swedish
        "Физический диск",  # Russian
    ),
    "LogicalDisk": (
        "Logischer Datenträger", "Disque logique", "Disco lógico", "Disco logico", "Logický disk", "Logische schijf",
        "Dysk logiczny", "Logisk disk", "Логический диск",
    ),
    "Processor": (
        "Prozessor", "Processeur", "Procesador", "Processador", "Processore", "Procesor", "Processor", "Процессор",
    ),
    "Processor Information": (
        "Prozessorinformationen", "Informations sur le processeur", "Información del procesador",
        "Informações do Processador", "Informazioni processore", "Informace o procesoru", "Сведения о процессоре",
    ),
    "Process": ("Prozess", "Processus", "Proceso", "Processo", "Proces", "Процесс"),
    "Hyper-V Virtual Storage Device": (
        "Virtuelles Hyper-V-Speichergerät", "Hyper-V – virtuelles Speichergerät", "Hyper-V - virtuelles Speichergerät",
        "Virtuelles Speichergerät für Hyper-V",
    ),
}  # fmt: skip
"""English name -> names in other languages."""

VIRTUAL_DISK_COUNTERS: Final[dict[str, tuple[str, ...]]] = {
    "Read Operations/Sec": ("Lesevorgänge/s", "Lesevorgänge/Sek."),
    "Write Operations/Sec": ("Schreibvorgänge/s", "Schreibvorgänge/Sek."),
    "Read Bytes/sec": ("Bytes gelesen/s", "Gelesene Bytes/s", "Gelesene Bytes/Sek."),
    "Write Bytes/sec": ("Bytes geschrieben/s", "Geschriebene Bytes/s", "Geschriebene Bytes/Sek."),
    "Latency": ("Latenz", "Wartezeit"),
    "Queue Length": ("Warteschlangenlänge",),
}
"""Of the object Hyper-V Virtual Storage Device; the German names are [unverified]."""

COUNTERS: Final[dict[str, tuple[str, ...]]] = {
    "Disk Transfers/sec": (
        "Übertragungen/s", "Transferts disque/s", "Transferencias de disco/s", "Trasferimenti disco/sec",
        "Přenosy disku/s", "Transferências de disco/s", "Обращений к диску/с",
    ),
    "Disk Reads/sec": (
        "Lesevorgänge/s", "Lectures disque/s", "Lecturas de disco/s", "Letture disco/sec", "Čtení disku/s",
        "Leituras de disco/s", "Обращений чтения с диска/с",
    ),
    "Disk Writes/sec": (
        "Schreibvorgänge/s", "Écritures disque/s", "Escrituras en disco/s", "Scritture disco/sec", "Zápisy na disk/s",
        "Gravações de disco/s", "Обращений записи на диск/с",
    ),
    "Disk Bytes/sec": (
        "Bytes/s", "Octets disque/s", "Bytes de disco/s", "Byte disco/sec", "Bajty disku/s",
        "Скорость обмена с диском (байт/с)",
    ),
    "Disk Read Bytes/sec": (
        "Bytes gelesen/s", "Lectures disque, octets/s", "Bytes de lectura de disco/s", "Byte letti da disco/sec",
        "Bajty čtení z disku/s", "Bytes de leitura de disco/s", "Скорость чтения с диска (байт/с)",
    ),
    "Disk Write Bytes/sec": (
        "Bytes geschrieben/s", "Écritures disque, octets/s", "Bytes de escritura en disco/s",
        "Byte scritti su disco/sec", "Bajty zápisu na disk/s", "Bytes de gravação de disco/s",
        "Скорость записи на диск (байт/с)",
    ),
    "Avg. Disk sec/Transfer": (
        "Mittlere Sek./Übertragung", "Moyenne disque s/transfert", "Media en segundos/transferencia",
        "Media letture/scritture disco sec/trasferimento", "Střední doba disku/přenos",
        "Среднее время обращения к диску (с)",
    ),
    "Avg. Disk sec/Read": (
        "Mittlere Sek./Lesevorgänge", "Mittlere Sek./Lesevorgang", "Moyenne disque s/lecture",
        "Media en segundos/lectura", "Media letture disco/sec", "Střední doba disku/čtení",
        "Среднее время чтения с диска (с)",
    ),
    "Avg. Disk sec/Write": (
        "Mittlere Sek./Schreibvorgänge", "Mittlere Sek./Schreibvorgang", "Moyenne disque s/écriture",
        "Media en segundos/escritura", "Media scritture disco/sec", "Střední doba disku/zápis",
        "Среднее время записи на диск (с)",
    ),
    "Avg. Disk Queue Length": (
        "Durchschnittl. Warteschlangenlänge des Datenträgers", "Durchschnittl. Warteschlangenlänge",
        "Longueur moyenne de file d'attente du disque", "Longitud promedio de la cola de disco",
        "Lunghezza media coda del disco", "Střední délka fronty disku", "Средняя длина очереди диска",
    ),
    "% Idle Time": (
        "Leerlaufzeit (%)", "% Leerlaufzeit", "% d'inactivité", "% de tiempo inactivo", "% tempo inattività",
        "% času nečinnosti", "% tempo ocioso", "% бездействия диска",
    ),
    "% Processor Time": (
        "Prozessorzeit (%)", "% Prozessorzeit", "% temps processeur", "% de tiempo de procesador",
        "% tempo del processore", "% času procesoru", "% tempo de processador", "% загруженности процессора",
    ),
}  # fmt: skip
"""English name -> names in other languages."""


def in_english(names: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Name in any language, in lower case -> English name."""
    return {name.casefold(): english for english, others in names.items() for name in (english, *others)}
