const VARIABLE = 'FANFARE_KILL_ROUNDS';

const given = process.env[VARIABLE];

// The servers that tests start inherit the environment, and refuse what they do not know in it.
delete process.env[VARIABLE];

/** How often a server is killed: as often as the environment says, as in a long run, or else this often. */
export function killRounds(inTestRun: number): number {
  const rounds = given === undefined ? inTestRun : Number(given);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new Error(`${VARIABLE} must be a number from 1, and is ${given}`);
}
