"""fio options that a workload has no field for, with the reason that a user is told.

Names as in fio 3.42's options.c. What stands in neither table nor reader is listed as not known.
"""

from __future__ import annotations

import re

_TARGET = "says which target; targets are given when the workload is run"
_LENGTH = "says how long; durations are given when the workload is run"
_OUTPUT = "says what fio reports"
_HOST = "says how fio runs on the host"

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("directory", "filename_format", "nrfiles", "openfiles", "filesize", "opendir",
                     "unique_filename", "unlink", "create_on_open", "create_only",
                     "create_serialize", "create_fsync", "fallocate", "file_append", "overwrite", "fill_device",
                     "allow_mounted_write", "pre_read", "readonly", "allow_file_create", "unlink_each_loop"), _TARGET),
    **dict.fromkeys(("time_based", "loops", "io_size", "number_ios", "steadystate", "ss",
                     "steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp"), _LENGTH),
    **dict.fromkeys(("group_reporting", "new_group", "lat_percentiles", "clat_percentiles", "slat_percentiles",
                     "percentile_list", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log",
                     "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_max_value", "log_offset",
                     "log_compression", "log_store_compressed", "log_unix_epoch", "log_entries", "log_prio",
                     "log_window_value", "log_compression_cpus", "log_alternate_epoch", "log_alternate_epoch_clock_id",
                     "block_error_percentiles", "per_job_logs", "disable_lat", "disable_clat", "disable_slat",
                     "disable_bw_measurement", "disable_bw", "gtod_reduce", "gtod_cpu", "unified_rw_reporting",
                     "stats", "bwavgtime", "iopsavgtime", "description", "name", "eta", "significant_figures",
                     "significant-figures", "unit_base", "write_iolog", "disk_util", "clocksource"), _OUTPUT),
    **dict.fromkeys(("ioengine", "direct", "buffered", "thread", "hipri", "fixedbufs", "registerfiles",
                     "sqthread_poll", "sqthread_poll_cpu", "iodepth_batch", "iodepth_batch_submit",
                     "iodepth_batch_complete_max",
                     "cpus_allowed", "cpus_allowed_policy", "cpumask", "numa_cpu_nodes", "numa_mem_policy", "nice",
                     "prio", "prioclass", "cgroup", "cgroup_weight", "cgroup_nodelete", "mem", "iomem", "mem_align",
                     "iomem_align", "hugepage-size", "lockmem", "invalidate", "exitall", "exec_prerun", "exec_postrun",
                     "uid", "gid", "userspace_reap", "nonvectored", "uncached", "exit_what", "continue_on_error",
                     "ignore_error", "error_dump", "max_open_zones", "reap", "ioscheduler", "fadvise_hint",
                     "kb_base", "force_async", "nowait", "cmdprio", "cmdprio_percentage", "cmdprio_bssplit",
                     "cmdprio_class", "hipri_percentage", "thp", "exitall_on_error",
                     "serialize_overlap"), _HOST),
    **dict.fromkeys(("randrepeat", "randseed", "allrandrepeat", "random_generator", "use_os_rand"),
                    "says how random numbers are made; the seed is of the run"),
    **dict.fromkeys(("scramble_buffers", "refill_buffers"), "every block that storscope writes is different"),
}  # fmt: skip
"""Option -> why it is no part of a workload."""

HOW_VERIFIED = frozenset({
    "do_verify", "verify_fatal", "verify_dump", "verify_async", "verify_async_cpus", "verify_backlog",
    "verify_backlog_batch", "verify_interval", "verify_offset", "verify_only", "verifysort", "verify_state_save",
    "verify_state_load", "verify_pattern", "verify_pattern_interval", "experimental_verify",
})  # fmt: skip
"""Options that say how fio verifies, beside `verify`, which says that it does. They are elsewhere, too."""

_SYNCHRONOUS_WRITES = (
    "a workload has no synchronous writes (O_SYNC, O_DSYNC): a write counts as done when the device has taken it, also "
    "into a cache that loses it without power; nearest is fdatasync=1, a flush of its own after each write"
)
_AT_THE_END = (
    "a flush once, behind the last write or when the file is closed: a workload flushes after every n-th write"
)

LOST: dict[str, str] = {
    "sync": _SYNCHRONOUS_WRITES,
    **dict.fromkeys(("end_fsync", "fsync_on_close"), _AT_THE_END),
    "write_barrier": "makes every n-th write a barrier; a workload's requests in flight have no order among each other",
    "sync_file_range": "starts or awaits the writing of page cache, without a flush of the device's cache",
    **dict.fromkeys(("rate_min", "rate_iops_min", "rate_cycle", "rate_ignore_thinktime", "rateminbw"),
                    "storscope reports a rate that was not reached instead of stopping"),
    **dict.fromkeys(("latency_target", "latency_window", "latency_percentile", "latency_run", "max_latency"),
                    "a goal, not a workload: see storscope bench --knee"),
    **dict.fromkeys(("zonemode", "zonesize", "zonerange", "zoneskip", "zonecapacity", "read_beyond_wp",
                     "zone_reset_frequency", "ignore_zone_limits"), "a workload has no zones"),
    **dict.fromkeys(("read_iolog", "replay_redirect", "replay_no_stall", "replay_time_scale", "replay_scale",
                     "replay_align", "replay_skip", "read_iolog_chunked", "merge_blktrace_file",
                     "merge_blktrace_scalars", "merge_blktrace_iters"), "a trace, not a description"),
    **dict.fromkeys(("startdelay", "wait_for", "start_delay"), "the streams of a workload start together"),
    **dict.fromkeys(("buffer_pattern", "dedupe_mode", "dedupe_working_set_percentage", "dedupe_global",
                     "buffer_compress_chunk"), "the pool of data has compressible and duplicate shares only"),
    **dict.fromkeys(("bs_is_seq_rand", "softrandommap", "experimental"), "has no counterpart"),
    **dict.fromkeys(("thinktime_spin", "thinkcycles"), "a pause is waited, not spun"),
    "thinktime_iotime": "a pause comes with a number of I/Os, not after a time of them",
    **dict.fromkeys(("rwmix_cycle", "offset_align", "size_increment", "rw_sequencer"),
                    "has no counterpart"),
    **dict.fromkeys(("trim_percentage", "trim_backlog", "trim_backlog_batch", "trim_verify_zero"),
                    "a workload does not trim"),
    **dict.fromkeys(("profile", "job_max_open_zones", "zone_reset_threshold"), "has no counterpart"),
    "io_submit_mode": "lets as many threads as iodepth send, also with a synchronous engine, and I/Os of a rate not "
    "wait for each other; the depth and the rate here are those without it",
    "file_service_type": "chooses some files more often than others; here all places of a target are chosen alike",
    "lockfile": "lets one job at a time at a file; the workers of a workload do not wait for each other",
    "atomic": "writes that are whole or not at all are not asked for",
    **dict.fromkeys(("readfua", "writefua", "sg_write_mode", "cmd_type"), "a workload has plain reads and writes"),
}  # fmt: skip
"""Option -> what is lost with it."""

_NAMES = frozenset({"buffer_pattern", "wait_for", "read_iolog", "replay_redirect", "merge_blktrace_file", "profile"})
"""Whose value is a name or a pattern: 0 is one, too."""

_EVEN_FILES = frozenset({"random", "roundrobin", "sequential"})
"""Values of file_service_type, without what may stand behind a colon, that favour no file (fio(1))."""

_RESTING = {
    "io_submit_mode": "inline",
    "sync": "none", "zonemode": "none", "lockfile": "none", "rw_sequencer": "sequential", "dedupe_mode": "repeat",
    "latency_percentile": "100", "cmd_type": "nvme", "sg_write_mode": "write",
}  # fmt: skip
"""Option -> what it is without being given (fio 3.42's options.c), where that is no number."""


def asks_nothing(name: str, value: str) -> bool:
    """Whether an option of `LOST` has a value with which fio does what it does without it, so that nothing is lost."""
    written = value.strip().lower()
    if name == "file_service_type":
        return written.partition(":")[0] in _EVEN_FILES
    return name not in _NAMES and (bool(re.fullmatch("0+[a-z%]*|false", written)) or written == _RESTING.get(name))


THROUGH_CACHE = "fio goes through the page cache; storscope past it, unless --buffered is given"

OTHER_ENGINES: dict[str, str] = {
    **dict.fromkeys(("cpuio", "exec"), "makes no I/O"),
    **dict.fromkeys(("filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"),
                    "creates, looks up or removes files instead of reading and writing them"),
    **dict.fromkeys(("falloc", "ftruncate", "e4defrag"), "gives files room instead of reading and writing them"),
    **dict.fromkeys(("net", "netsplice", "rdma", "librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client",
                     "librpma_gpspm_server"), "loads a network"),
}  # fmt: skip
"""Engines whose jobs ask nothing that a workload can ask (fio(1), ioengine), and what they do."""

UNDERSTOOD = frozenset({
    "blockalign", "bs", "bs_unaligned", "bsrange", "bssplit", "buffer_compress_percentage", "dedupe_percentage",
    "fdatasync", "flow", "flow_id", "flow_sleep", "fsync", "iodepth", "iodepth_batch_complete_min", "iodepth_low",
    "norandommap", "numjobs", "offset", "offset_increment", "percentage_random", "ramp_time", "random_distribution",
    "rate", "rate_iops", "rate_process", "runtime", "rw", "rwmixread", "rwmixwrite", "size", "thinktime",
    "thinktime_blocks", "thinktime_blocks_type", "verify", "zero_buffers",
})  # fmt: skip
"""What becomes part of a workload, if the job's other options leave it an effect: rwmixread says nothing of a job that
only reads."""

SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"})
"""Engines that keep one I/O outstanding whatever iodepth says (fio(1), iodepth)."""
DEFAULT_ENGINE = "psync"
"""On Linux (fio(1), ioengine)."""
