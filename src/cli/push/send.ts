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
  readonly audience: {
    readonly devices: number;
    readonly later: number;
    readonly quiet: number;
    readonly languages: readonly { readonly language: string; readonly devices: number }[];
    readonly overCap: number;
    readonly tooLate: number;
    readonly more: boolean;
  } | null;
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
    ...(audience === null ? [] : audienceLines(audience)),
  ]
    .map(printable)
    .join('\n');
}

function audienceLines(audience: NonNullable<Preview['audience']>): readonly string[] {
  const { devices, later, quiet, languages, overCap, tooLate, more } = audience;
  const line = (many: number, what: string) =>
    many === 0 ? [] : [`${countOf(many, 'device')} ${what}`];
  return [
    `${more ? 'More than ' : ''}${countOf(devices, 'device')} would get it.`,
    ...line(later - quiet, 'of them later, by their local time.'),
    ...line(quiet, 'of them after their quiet hours.'),
    ...languages.flatMap((one) => line(one.devices, `of them in ${one.language}.`)),
    ...line(overCap, 'would not get it: over the cap.'),
    ...line(tooLate, 'would not get it: its time to live ends in their quiet hours.'),
  ];
}
