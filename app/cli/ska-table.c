/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#define DAY (24u * 3600u)
#define END { NULL, NULL, SKA_FLAG, FALSE, NULL, NULL, 0, 0, NULL }
#define NONE (const SkaArg[]) { END }
#define ARGS(...) (const SkaArg[]) { __VA_ARGS__, END }
/* A positional argument, an option with a value, a flag. */
#define POS(name, key, kind, required, help) { name, key, kind, required, NULL, NULL, 0, 0, help }
#define OPT(name, key, kind, value, help) { name, key, kind, FALSE, value, NULL, 0, 0, help }
#define RANGE(name, key, kind, value, min, max, help) { name, key, kind, FALSE, value, NULL, min, max, help }
#define FLAG(name, key, help) { name, key, SKA_FLAG, FALSE, NULL, NULL, 0, 0, help }
#define CREDENTIALS OPT ("--credentials-file", "credentials", SKA_SECRET_FILE, "FILE", "read the credentials of the storage from FILE")
#define DEVICE_NAME OPT ("--name", "device-name", SKA_TEXT, "DEVICE", "what this device is called (default: the name of the host)")

static const SkaArg global_options[] = {
  OPT ("--home", ".home", SKA_PATH, "DIR", "the directory with all state of one device (default: $XDG_DATA_HOME/skerry)"),
  FLAG ("--json", ".json", "print one JSON object instead of text"),
  OPT ("--passphrase-file", ".passphrase", SKA_SECRET_FILE, "FILE",
       "the passphrase of the keys is the first line of FILE (also SKERRY_PASSPHRASE_FILE)"),
  FLAG ("--no-passphrase", ".no-passphrase", "when keys are made: keep them unprotected in a file that only you can read"),
  FLAG ("--help", ".help", "show this help"),
  FLAG ("--version", ".version", "show the version"),
  END,
};

static const SkaCommand commands[] = {
  { "vault create", "vault.create", ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the vault, shown on every device"), DEVICE_NAME),
    SKA_KEYS, ska_print_vault_new, NULL, "make a new vault on this device",
    "Makes the keys of a new vault and prints its recovery phrase: 24 words that open the vault when every device is lost. Write them "
    "on paper and check them with “vault recovery --check”.\n\n"
    "The keys of this device are kept in the keyring of the session; with --passphrase-file in a file sealed with the passphrase; "
    "with --no-passphrase in a plain file.",
    "skerryctl vault create Family\n"
    "skerryctl --home /srv/skerry --passphrase-file pw vault create Family --name nas" },
  { "vault join", "vault.join",
    ARGS (POS ("CODE", "code", SKA_CODE, TRUE, "the line that “invite” printed on the other device; “-” reads it from standard input"), DEVICE_NAME,
          RANGE ("--wait", "wait", SKA_DURATION, "TIME", 1, DAY, "how long to wait for the other device (default 60s)"),
          OPT ("--storage", "storage", SKA_URI, "URI", "where the storage of the invitation is reached from here, if elsewhere"), CREDENTIALS),
    SKA_KEYS, ska_print_vault_new, NULL, "join a vault with an invitation of another device",
    "Both devices show the same six words while they join; the person at the other device compares them and agrees.",
    "skerryctl vault join 'skerry:...' --name laptop\n"
    "skerryctl vault join - --name laptop --wait 10m < code" },
  { "vault show", "vault.show", NONE, 0, ska_print_vault, NULL, "show the vault, this device and where its keys are", NULL, NULL },
  { "vault recovery", "vault.recovery",
    ARGS (FLAG ("--check", "check", "ask for the 24 words and say whether they are right"),
          OPT ("--phrase-file", ".phrase", SKA_SECRET_FILE, "FILE", "with --check: read the words from FILE")),
    SKA_PASSPHRASE, ska_print_phrase, ska_run_recovery, "show or check the recovery phrase",
    "The device that made the vault keeps the phrase until it was checked once; from then on it exists only where you wrote it down.",
    "skerryctl vault recovery\n"
    "skerryctl vault recovery --check" },
  { "vault recover", "vault.recover",
    ARGS ({ "--storage", "storage", SKA_URI, TRUE, "URI", NULL, 0, 0, "a storage of the vault" },
          { "--phrase-file", "phrase", SKA_SECRET_FILE, TRUE, "FILE", NULL, 0, 0, "the file with the 24 words; “-” is standard input" }, DEVICE_NAME,
          OPT ("--vault", "vault", SKA_TEXT, "ID", "which one, when several vaults lie in the storage"), CREDENTIALS),
    SKA_KEYS | SKA_LONG, ska_print_vault_new, NULL, "open a vault with its recovery phrase and a storage", NULL,
    "skerryctl vault recover --storage /media/disk/skerry --phrase-file words --name new-laptop" },

  { "storage add", "storage.add",
    ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the storage"),
          POS ("URI", "uri", SKA_URI, TRUE, "a directory, or a location such as file:///mnt/nas/skerry, sftp://host/path, smb://host/share/path"),
          POS ("key=value", "settings", SKA_SETTINGS, FALSE, "settings, see “storage set”"), CREDENTIALS),
    SKA_LONG, ska_print_storage_new, NULL, "use a place as a storage of the vault",
    "A storage keeps sealed objects. Devices meet there when they are not awake at the same time. Several vaults may share a place.",
    "skerryctl storage add nas /mnt/nas/skerry\n"
    "skerryctl storage add disk file:///media/disk/skerry level=9" },
  { "storage list", "storage.list", NONE, 0, ska_print_storages, NULL, "list the storages of the vault", NULL, NULL },
  { "storage show", "storage.show", ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the storage")), 0, ska_print_storage, NULL,
    "show one storage, its settings and counters", NULL, NULL },
  { "storage remove", "storage.remove", ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the storage")), SKA_LONG, ska_print_storage_removed, NULL,
    "use a storage no longer", "The objects stay where they are; the answer says where.", NULL },
  { "storage set", "storage.set",
    ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the storage"), POS ("key=value", "settings", SKA_SETTINGS, TRUE, "one or more settings")),
    0, ska_print_settings, NULL, "change settings of a storage",
    "concurrency=auto|1..512   requests at a time\n"
    "pack-size=auto|1M..16M    size of the objects\n"
    "level=1..19               how hard to compress\n"
    "verify=on|off             read back what was written\n"
    "price.stored= price.out= price.free-out= price.request=   what the service asks for, to show what a month costs",
    "skerryctl storage set nas concurrency=8 level=9\n"
    "skerryctl storage set nas pack-size=auto" },
  { "storage verify", "storage.verify",
    ARGS (POS ("NAME", "name", SKA_TEXT, FALSE, "name of the storage (default: all)"), FLAG ("--all", "all", "everything, not only what nobody has verified yet")),
    SKA_LONG, ska_print_verify, NULL, "read objects back, and repair what is damaged", NULL, "skerryctl storage verify nas --all" },

  { "folder add", "folder.add",
    ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the folder"), POS ("PATH", "path", SKA_PLACE, TRUE, "the directory with the files")),
    SKA_LONG, ska_print_folder_new, NULL, "put a directory into the vault", NULL, "skerryctl folder add Documents ~/Documents" },
  { "folder attach", "folder.attach",
    ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the folder"), POS ("PATH", "path", SKA_PLACE, TRUE, "where it shall be on this device"),
          { "--mode", "mode", SKA_CHOICE, FALSE, "both|send|receive", "both send receive", 0, 0, "which way changes go (default: both)" },
          OPT ("--only", "only", SKA_GLOBS, "GLOB", "only paths that match; may be repeated")),
    SKA_LONG, ska_print_folder_new, NULL, "have a folder of the vault on this device", NULL,
    "skerryctl folder attach Documents ~/Documents\n"
    "skerryctl folder attach Photos ~/Photos --mode receive --only '2024/**'" },
  { "folder detach", "folder.detach", ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the folder")), 0, ska_print_folder_detached, NULL,
    "have a folder no longer on this device", "The files stay where they are; nothing is deleted, here or elsewhere.", NULL },
  { "folder list", "folder.list", NONE, 0, ska_print_folders, NULL, "list the folders of the vault", NULL, NULL },
  { "folder set", "folder.set",
    ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the folder"), POS ("key=value", "settings", SKA_SETTINGS, TRUE, "one or more settings")),
    0, ska_print_settings, NULL, "change settings of a folder",
    "mode=both|send|receive   which way changes go on this device\n"
    "storages=A,B|all|none    where its content is kept\n"
    "trash-days=1..3650       how long what was removed is kept\n"
    "xattrs=on|off            sync extended attributes (user.*) too\n"
    "name=NAME                a new name, on every device",
    "skerryctl folder set Photos storages=nas,disk" },

  { "invite", "invite",
    ARGS (RANGE ("--expires", "expires", SKA_DURATION, "TIME", 10, 7 * DAY, "how long it holds (default 10m)"),
          FLAG ("--yes", "yes", "admit the first device that proves the code, without asking"),
          FLAG ("--wait", ".wait", "stay until it is used; asks on the terminal whether the six words agree"),
          OPT ("--storage", "storage", SKA_TEXT, "NAME", "the storage through which the devices meet")),
    SKA_LONG, ska_print_nothing, ska_run_invite, "invite another device into the vault",
    "Prints one line that begins with “skerry:”. Give it to the other device: skerryctl vault join LINE. The invitation lives in the engine "
    "that made it; where none runs, this command stays until it is used. A device that waits for a yes is also an issue: "
    "skerryctl resolve ISSUE accept.",
    "skerryctl invite --wait\n"
    "skerryctl invite --expires 1h --yes" },
  { "invite list", "invite.list", NONE, 0, ska_print_invites, NULL, "list the invitations of this engine", NULL, NULL },
  { "device list", "device.list", NONE, 0, ska_print_devices, NULL, "list the devices of the vault", NULL, NULL },
  { "device show", "device.show", ARGS (POS ("NAME", "name", SKA_TEXT, TRUE, "name of the device")), 0, ska_print_device, NULL, "show one device", NULL, NULL },

  { "run", NULL, ARGS (FLAG ("--no-lan", ".no-lan", "do not look for devices on the local network")), 0, ska_print_nothing, ska_run_engine,
    "be the engine of this home until stopped",
    "Watches the folders and the storages and keeps everything the same. Other commands on the same home talk to it. Ends on "
    "SIGTERM or SIGINT.",
    "skerryctl run\n"
    "skerryctl --home /srv/skerry --passphrase-file /etc/skerry.pw run" },
  { "sync", "sync", ARGS (POS ("FOLDER", "folders", SKA_NAMES, FALSE, "names of folders (default: all)")), SKA_LONG | SKA_REPORT, ska_print_sync, NULL,
    "one pass now; ends when everything that can be reached is level", "Also runs while syncing is paused.",
    "skerryctl sync\n"
    "skerryctl --json sync Documents" },
  { "status", "status", NONE, 0, ska_print_status, NULL, "show what is going on", NULL, NULL },
  { "transfers", "transfers", NONE, 0, ska_print_transfers, NULL, "show what is being moved", NULL, NULL },
  { "traffic", "traffic", ARGS (OPT ("--since", "since", SKA_TIME, "TIME", "a date and time, or so long ago: 24h, 7d")), 0, ska_print_traffic, NULL,
    "show how much was moved, by device and storage", NULL, "skerryctl traffic --since 7d" },
  { "issues", "issues", NONE, 0, ska_print_issues, NULL, "list what wants you", NULL, NULL },
  { "activity", "activity",
    ARGS (RANGE ("--limit", "limit", SKA_COUNT, "N", 1, 10000, "at most so many (default 100)"),
          OPT ("--since", "since", SKA_TIME, "TIME", "a date and time, or so long ago: 24h, 7d")),
    0, ska_print_activity, NULL, "show what happened, newest first", NULL, "skerryctl activity --limit 20" },
  { "pause", "pause", ARGS ({ "FOR", "seconds", SKA_DURATION, FALSE, NULL, NULL, 1, 365 * DAY, "so long: 30m, 2h, 1d (default: until “resume”)" }),
    0, ska_print_pause, NULL, "stop syncing for a while", NULL, "skerryctl pause 2h" },
  { "resume", "resume", NONE, 0, ska_print_nothing, NULL, "go on after a pause", NULL, NULL },
  { "resolve", "resolve",
    ARGS ({ "ISSUE", "issue", SKA_NUMBER, TRUE, NULL, NULL, 1, G_MAXINT64, "number of the issue, from “issues”" },
          { "CHOICE", "choice", SKA_CHOICE, TRUE, NULL, "keep-mine keep-theirs keep-both merge accept refuse retry locate", 0, 0,
            "keep-mine, keep-theirs, keep-both, merge, accept, refuse, retry or locate; “issues” says which are possible" },
          POS ("PATH", "path", SKA_PLACE, FALSE, "with locate: where it is now")),
    SKA_LONG, ska_print_resolved, NULL, "decide an issue", NULL,
    "skerryctl resolve 12 keep-both\n"
    "skerryctl resolve 13 locate /media/disk2/photos" },
  { "undo", "undo", ARGS ({ "ACTIVITY", "activity", SKA_NUMBER, TRUE, NULL, NULL, 1, G_MAXINT64, "number of the activity, from “activity”" }), SKA_LONG,
    ska_print_undo, NULL, "take back what happened", NULL, NULL },

  { "versions", "versions",
    ARGS (POS ("FOLDER", "folder", SKA_TEXT, TRUE, "name of the folder"), POS ("PATH", "path", SKA_PATH, TRUE, "path inside the folder")), 0, ska_print_versions,
    NULL, "list the versions of a file", NULL, "skerryctl versions Documents letters/bank.odt" },
  { "restore", "restore",
    ARGS (POS ("FOLDER", "folder", SKA_TEXT, TRUE, "name of the folder"), POS ("PATH", "path", SKA_PATH, FALSE, "path inside the folder"),
          OPT ("--version", "version", SKA_TEXT, "V", "which version, from “versions” (default: the one before the current one)"),
          OPT ("--at", "at", SKA_TIME, "TIME", "the whole folder as it was then; needs --to and no PATH"),
          OPT ("--to", "to", SKA_PLACE, "DIR", "write into this directory instead of the folder")),
    SKA_LONG, ska_print_restore, NULL, "bring back a version of a file, or a folder as it was", NULL,
    "skerryctl restore Documents letters/bank.odt\n"
    "skerryctl restore Documents letters/bank.odt --version 3f2a --to /tmp\n"
    "skerryctl restore Documents --at '2024-05-01 12:00' --to ~/old-documents" },
  { "fsck", "fsck", ARGS (FLAG ("--repair", "repair", "repair what can be repaired")), SKA_LONG, ska_print_fsck, NULL,
    "check the database, the log and the storages", NULL, NULL },
  { "gc", "gc", ARGS (FLAG ("--dry-run", "dry-run", "only say what would be done")), SKA_LONG, ska_print_gc, NULL,
    "remove what nothing needs from the storages", NULL, NULL },
  { "diagnostics", "diagnostics", ARGS (POS ("FILE", "file", SKA_PLACE, TRUE, "a new file")), 0, ska_print_diagnostics, NULL,
    "write a report for a person who helps; it holds no names and no secrets", NULL, NULL },
};

const SkaCommand *
ska_commands (guint *n)
{
  *n = G_N_ELEMENTS (commands);
  return commands;
}

const SkaArg *
ska_global_options (void)
{
  return global_options;
}
