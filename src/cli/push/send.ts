import { parseJsonObject } from '../../runtime/json-object.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { SERVER_OPTIONS, serverCommand } from '../channels/running-server.ts';
import { countOf, printResult } from '../invocation.ts';
import { JSON_OPTION, type Option, operandsOf } from '../options.ts';
import { UsageError } from '../output.ts';

export const PUSH_SEND_OPTIONS: readonly Option[] = [
  { name: 'dry-run', help: 'Show what it would do, and send nothing.' },
  {
    name: 'idempotency-key',
    value: 'KEY',
    help: 'With the same key, the same publish is sent once within 24 hours.',
  },
  ...SERVER_OPTIONS,
  JSON_OPTION,
];

interface Preview {
  readonly faults: readonly { readonly field: string; readonly rule: string }[];
  readonly requests: readonly {
    readonly platform: string;
    readonly configured: boolean;
    readonly bytes: number;
    readonly bytesMax: number;
  }[];
  readonly audience: { readonly devices: number; readonly more: boolean } | null;
}

/** `fanfare push send`: sends a publish through a running server, or shows what it would do. */
export const sendPublish = serverCommand(async (call) => {
  const [instance, json] = operandsOf(call.given, ['INSTANCE', 'BODY'], '; put BODY in quotes');
  const publish = parseJsonObject(json);
  if (publish === undefined) throw new UsageError('BODY must be a JSON object');

  const isDryRun = call.given.has('dry-run');
  const key = call.given.value('idempotency-key');
  const query = key === undefined ? '' : `?idempotencyKey=${encodeURIComponent(key)}`;
  const path = `/instances/${encodeURIComponent(instance)}`;
  const body = await call.api.ask(
    'POST',
    isDryRun ? `${path}/previews` : `${path}/publishes${query}`,
    publish,
  );
  if (isDryRun) {
    const preview = body as Preview;
    const result = printResult(call, { json: body, text: describe(preview) });
    return preview.faults.length === 0 ? result : 1;
  }
  const { publishId } = body as { readonly publishId: string };
  const text = `Sent as ${publishId}. See what becomes of it: fanfare push status ${publishId}`;
  return printResult(call, { json: body, text: printable(text) });
});

function describe({ faults, requests, audience }: Preview): string {
  return [
    ...faults.map(({ field, rule }) => `${field}: ${rule}`),
    ...requests.map(({ platform, configured, bytes, bytesMax }) => {
      const missing = configured ? '' : '; the instance has no credential for it';
      return `${platform}: ${bytes} of ${bytesMax} bytes${missing}`;
    }),
    ...(audience === null
      ? []
      : [
          `${audience.more ? 'More than ' : ''}${countOf(audience.devices, 'device')} would get it.`,
        ]),
  ]
    .map(printable)
    .join('\n');
}
