import { COMMAND_VARIABLE } from './variables.ts';

/** How people call this program here, for hints: `npx fanfare`, `fanfare`, or a path. The launcher knows it. */
export function ownCommand(): string {
  return process.env[COMMAND_VARIABLE] ?? 'npx fanfare';
}
