import { expect } from 'bun:test';
import { run } from '../../../src/cli/run.ts';
import type { CheckName } from '../../../src/doctor/check-names.ts';
import type { CheckResult } from '../../../src/doctor/report.ts';
import { APP } from '../../../testing/servers/fanfare.ts';

/** The report of the doctor on a server. */
class Diagnosis {
  readonly code: number;
  readonly checks: readonly CheckResult[];

  constructor(code: number, checks: readonly CheckResult[]) {
    this.code = code;
    this.checks = checks;
  }

  of(name: CheckName): CheckResult | undefined {
    return this.checks.find((check) => check.name === name);
  }

  /** The names of the checks with a result. */
  with(result: CheckResult['result']): readonly CheckName[] {
    return this.checks.filter((check) => check.result === result).map(({ name }) => name);
  }
}

export type Options = Readonly<Record<string, string | true | undefined>>;

export const BACKEND = { secret: APP.secret, 'app-id': APP.id } as const;
/** Long enough for a slow machine. Tests with a silent server wait this long. */
export const SHORT_SECONDS = '0.4';

/** Runs the doctor on a server of this machine with these command-line options. */
export async function examine(
  server: { readonly port: number } | string,
  options: Options = {},
): Promise<Diagnosis> {
  const { code, printed } = await doctor({
    url: typeof server === 'string' ? server : `http://127.0.0.1:${server.port}`,
    key: APP.key,
    idle: '0',
    json: true,
    ...options,
  });
  const { ok, checks } = JSON.parse(printed) as { ok: boolean; checks: CheckResult[] };
  expect(ok).toBe(code === 0);
  return new Diagnosis(code, checks);
}

export async function doctor(options: Options) {
  const printed: string[] = [];
  const complained: string[] = [];
  const argv = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : value === true ? [`--${name}`] : [`--${name}`, value],
  );
  const code = await run(['doctor', ...argv], {
    print: (text) => void printed.push(text),
    complain: (text) => void complained.push(text),
  });
  const said = { code, printed: printed.join('\n'), complained: complained.join('\n') };
  // Checked in every test: the output contains no secret.
  if (options['secret'] !== undefined && options['secret'] !== true) {
    expect(said.printed.includes(options['secret'])).toBe(false);
    expect(said.complained.includes(options['secret'])).toBe(false);
  }
  return said;
}

export function failure(detail: string | RegExp, advice: string | RegExp = /./) {
  return {
    result: 'failed' as const,
    detail: expect.stringMatching(new RegExp(detail)),
    advice: expect.stringMatching(new RegExp(advice)),
  };
}

export function warned(detail: string | RegExp, advice: string | RegExp = /./) {
  return { ...failure(detail, advice), result: 'warning' as const };
}
