import type { ReachedChannel } from '../../admin/admin.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf, fail, printResult } from '../invocation.ts';
import { JSON_OPTION, type Option } from '../options.ts';
import { UsageError } from '../output.ts';
import { SERVER_OPTIONS, serverCommand } from './running-server.ts';

export const SEND_OPTIONS: readonly Option[] = [
  {
    name: 'except',
    value: 'SOCKET-ID',
    help: 'Do not send it to this connection.',
  },
  ...SERVER_OPTIONS,
  JSON_OPTION,
];

/** `fanfare send`: sends an event through a running server, and prints how many connections received it. */
export const send = serverCommand(async (call) => {
  const [app, channel, name, data, ...more] = call.given.operands;
  if (app === undefined || channel === undefined || name === undefined || data === undefined) {
    throw new UsageError('send needs APP CHANNEL EVENT DATA');
  }
  if (more[0] !== undefined) throw new UsageError(`unexpected "${more[0]}"; put DATA in quotes`);
  const { status, body } = await call.api.request(
    'POST',
    `/apps/${encodeURIComponent(app)}/events`,
    { name, channels: [channel], data, socketId: call.given.value('except') },
  );
  if (status !== 200) return fail(call, (body as { readonly error: string }).error);
  const { channels } = body as {
    readonly channels: readonly (ReachedChannel & { readonly near: string | null })[];
  };
  const lines = channels.map(({ name: channel, receivers, near }) => {
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    return printable(`${countOf(receivers, 'connection')} received it on ${channel}.${hint}`);
  });
  return printResult(call, { json: body, text: lines.join('\n') });
});
