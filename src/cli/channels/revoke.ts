import { printable } from '../../runtime/logging/printable.ts';
import { printResult } from '../invocation.ts';
import { JSON_OPTION, type Option, operandsOf } from '../options.ts';
import { UsageError } from '../output.ts';
import { SERVER_OPTIONS, serverCommand } from './running-server.ts';

export const REVOKE_OPTIONS: readonly Option[] = [
  { name: 'user', value: 'ID', help: 'Revoke the grants of this user.' },
  { name: 'token', value: 'JTI', help: 'Revoke the token with this `jti`.' },
  { name: 'all', help: 'Revoke all grants of the app.' },
  {
    name: 'issued-before',
    value: 'TIME',
    help: 'Only what was given until then: seconds since 1970, or a date like 2026-11-29T12:00:00Z. The default is now.',
  },
  ...SERVER_OPTIONS,
  JSON_OPTION,
];

/** `fanfare revoke`: ends grants on all servers, through a running one. */
export const revoke = serverCommand(async (call) => {
  const { given, api } = call;
  const [app] = operandsOf(given, ['APP']);
  const [user, token, isAll] = [given.value('user'), given.value('token'), given.has('all')];
  if ([user !== undefined, token !== undefined, isAll].filter(Boolean).length !== 1) {
    throw new UsageError('what? Give exactly one of --user, --token and --all');
  }
  const issuedBefore = secondsIn(given.value('issued-before'));
  if (token !== undefined && issuedBefore !== undefined) {
    throw new UsageError('--issued-before goes with --user or --all only');
  }
  const body = await api.ask('POST', `/apps/${encodeURIComponent(app)}/revocations`, {
    ...{ userId: user, jti: token, all: isAll || undefined, issuedBefore },
  });
  const what = isAll
    ? `All grants of app ${app}`
    : user === undefined
      ? `The token ${token}`
      : `The grants of ${user} in app ${app}`;
  const { issuedBefore: until } = body as { readonly issuedBefore: number | null };
  const which =
    until === null ? ' is' : ` that were given until ${new Date(until * 1000).toISOString()} are`;
  const text = `${what}${which} revoked. Connections that hang on it end within 3 seconds.`;
  return printResult(call, { json: body, text: printable(text) });
});

function secondsIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  // A number alone would be a year.
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.floor(Date.parse(text) / 1000);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new UsageError(
    '--issued-before must be seconds since 1970, or a date like 2026-11-29T12:00:00Z',
  );
}
