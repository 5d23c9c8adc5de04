/** Why a test needs one server without Redis. Such a test passes as it is when `TEST_SERVERS` is set. */
const ONLY_ONE = {
  pipelining: 'a connection that sends or ends before it has the answer may be closed',
  figures: 'metrics and other figures are those of the server that is asked',
  'sqlite-file': 'opens the SQLite file of the server',
  'address-limits': 'each server enforces its own share of the limits by address',
  restart: 'a server is started again in the place of one that was killed',
  quotas: 'servers send each other within a second how much they have accepted',
  log: 'the log is that of the server that is asked',
  port: 'servers on one machine cannot have the same port',
  connections: 'channels.maxConnections holds for each server',
  memory: 'the memory of one process is measured',
} as const;

export type OnlyOne = keyof typeof ONLY_ONE;
