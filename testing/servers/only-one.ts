/** Why a test needs one server without Redis. Such a test passes as it is when `TEST_SERVERS` is set. */
const ONLY_ONE = {
  'open-files': 'the limit of open files holds for each process',
  pipelining: 'a connection that sends or ends before it has the answer may be closed',
  process: 'measures or signals one process',
  figures: 'metrics and other figures are those of the server that is asked',
  log: 'a line of the log is written by the server that it happens on',
  'sqlite-file': 'opens the SQLite file of the server',
  'address-limits': 'each server enforces its own share of the limits by address',
  connections: 'channels.maxConnections holds for each server',
  'admin-listener': 'is about the admin listener of one server',
} as const;

export type OnlyOne = keyof typeof ONLY_ONE;
