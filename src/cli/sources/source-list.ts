import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { SERVER_OPTIONS, serverCommand } from '../channels/running-server.ts';
import { printList } from '../invocation.ts';
import { JSON_OPTION, noOperand, type Option } from '../options.ts';

export const SOURCE_LIST_OPTIONS: readonly Option[] = [...SERVER_OPTIONS, JSON_OPTION];

/** What is shown of the answer of `GET /sources`. A later server may say more. */
const answer = z.object({
  sources: z.array(
    z.looseObject({
      source: z.number(),
      url: z.string(),
      schema: z.string(),
      app: z.string(),
      instance: z.string().nullable(),
      follower: z.string().nullable(),
      lagSeconds: z.number().nullable(),
      waiting: z.number().nullable(),
      failed: z.number().nullable(),
      lastFailure: z.string().nullable(),
      states: z.array(z.object({ server: z.string(), state: z.string(), why: z.string() })),
    }),
  ),
});

type Source = z.output<typeof answer>['sources'][number];

/** `fanfare source list`: shows the outboxes that servers follow. */
export const listSources = serverCommand(async (call) => {
  noOperand(call.given);
  const { sources } = answer.parse(await call.api.ask('GET', '/sources'));
  return printList(call, sources, {
    json: (source) => source,
    line: describe,
    none: 'The server has no `sources` in its configuration.',
  });
});

function describe(source: Source): string {
  const { url, schema, app, instance, follower, lagSeconds, waiting, failed, lastFailure } = source;
  const lag = lagSeconds === null ? '-' : `${lagSeconds.toFixed(1)} s`;
  const lines = [
    `sources[${source.source}]  ${url}  schema ${schema}  app ${app}${instance === null ? '' : `  instance ${instance}`}`,
    `  follower  ${follower ?? 'none'}`,
    `  waiting   ${waiting ?? '-'} for ${lag}`,
    `  failed    ${failed ?? '-'}${lastFailure === null ? '' : `, the last one: ${lastFailure}`}`,
    ...source.states
      .filter(({ why }) => why !== '')
      .map(({ server, state, why }) => `  ${state.padEnd(9)} ${server}: ${why}`),
  ];
  return lines.map(printable).join('\n');
}
