import type { ReachedChannel } from '../../asking/facts/live.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf, printResult } from '../invocation.ts';
import { JSON_OPTION, type Option, operandsOf } from '../options.ts';
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
  const [app, channel, name, data] = operandsOf(
    call.given,
    ['APP', 'CHANNEL', 'EVENT', 'DATA'],
    '; put DATA in quotes',
  );
  const body = await call.api.ask('POST', `/apps/${encodeURIComponent(app)}/events`, {
    name,
    channels: [channel],
    data,
    socketId: call.given.value('except'),
  });
  const { channels } = body as {
    readonly channels: readonly (ReachedChannel & { readonly near: string | null })[];
  };
  const lines = channels.map(({ name: channel, receivers, near }) => {
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    return printable(`${countOf(receivers, 'connection')} received it on ${channel}.${hint}`);
  });
  return printResult(call, { json: body, text: lines.join('\n') });
});
