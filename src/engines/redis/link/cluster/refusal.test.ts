import { expect, it } from 'bun:test';
import { lackOf } from './refusal.ts';

it.each([
  // Redis 7, in a script.
  "ERR The user executing the script can't run this command or subcommand (SPUBLISH)",
  // Redis 8 and Valkey, in a script.
  "ERR ACL failure in script: User fanfare has no permissions to run the 'spublish' command (SPUBLISH)",
  "NOPERM User fanfare has no permissions to run the 'ssubscribe' command",
])('"%s" says that there is no sharded publish and subscribe', (message) => {
  expect(lackOf(message)?.message).toStartWith('this Redis has no sharded publish and subscribe');
});

it.each([
  "ERR unknown command 'EVALSHA', with args beginning with: ",
  "NOPERM User fanfare has no permissions to run the 'evalsha' command",
])('"%s" says that there are no scripts', (message) => {
  expect(lackOf(message)?.message).toStartWith('this Redis does not run scripts');
});

it('what a user may mend while the server runs is no lack', () => {
  expect(lackOf('OOM command not allowed (SPUBLISH)')).toBeUndefined();
  expect(
    lackOf("NOPERM User fanfare has no permissions to run the 'info' command"),
  ).toBeUndefined();
});
