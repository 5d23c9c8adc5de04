import { Database } from 'bun:sqlite';

/** Holds the store's write lock, as a stuck backup would, until its standard input ends. `… FILE` */
const database = new Database(process.argv[2]);
// The server writes as well.
database.exec('PRAGMA busy_timeout = 10000');
database.exec('BEGIN EXCLUSIVE');
process.stdout.write('held\n');
for await (const _ of process.stdin);
database.exec('ROLLBACK');
database.close();
