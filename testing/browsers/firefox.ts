import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Autopush } from './autopush.ts';

/** A real Firefox without a window. There is no driver: its page reports to a server what happens in it. */
export interface Firefox extends AsyncDisposable {
  /** What it has printed, for the text of a failure. */
  readonly output: () => string;
  /** Settles with the address for `driveFirstTab`, if it was started with `isDriven`. */
  readonly driverUrl: Promise<string>;
}

export interface FirefoxOptions {
  /** The push service of the browser; none if it is left out. */
  readonly autopush?: Pick<Autopush, 'url'>;
  /** Over those that every test needs. */
  readonly preferences?: Readonly<Record<string, string | number | boolean>>;
  /** Further files of its profile, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether a test drives it by WebDriver BiDi. */
  readonly isDriven?: boolean;
}

/** How long Firefox may take to start and open a page on a busy machine. Milliseconds. */
export const FIREFOX_START_MAX_MS = 120_000;

/** Starts Firefox with one tab for each address, and with a new profile, which is removed with it. */
export async function startFirefox(
  urls: readonly string[],
  { autopush, preferences, files = {}, isDriven = false }: FirefoxOptions = {},
): Promise<Firefox> {
  const program = Bun.which('firefox-esr') ?? Bun.which('firefox');
  if (program === null) {
    throw new Error('There is no Firefox on the PATH. Run: apt-get install firefox-esr');
  }
  const profile = mkdtempSync(join(tmpdir(), 'fanfare-firefox-'));
  const lines = Object.entries({ ...usual(autopush), ...preferences }).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  for (const [name, content] of Object.entries({ ...files, 'user.js': lines.join('') })) {
    writeFileSync(join(profile, name), content);
  }
  const firefox = Bun.spawn(
    [
      ...[program, '--headless', '--no-remote', '--new-instance', '--profile', profile],
      ...(isDriven ? ['--remote-debugging-port', '0'] : []),
      ...urls,
    ],
    {
      // What it keeps beside the profile goes there as well.
      env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' },
      stdout: 'pipe',
      stderr: 'pipe',
      // A process group of its own, so that all of its processes can be ended.
      detached: true,
    },
  );
  let output = '';
  const driver = Promise.withResolvers<string>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      output += decoder.decode(bytes, { stream: true });
      const url = /WebDriver BiDi listening on (ws:\S+)\n/.exec(output)?.[1];
      if (url !== undefined) driver.resolve(url);
    }
  };
  const collected = Promise.all([collect(firefox.stdout), collect(firefox.stderr)]);
  return {
    output: () => output,
    driverUrl: driver.promise,
    async [Symbol.asyncDispose]() {
      if (firefox.exitCode === null && firefox.signalCode === null) {
        process.kill(-firefox.pid, 'SIGKILL');
      }
      await firefox.exited;
      // Its processes share the pipes: when they are closed, the last one has ended.
      await collected;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Source: push protocol, 9.1. */
function usual(
  autopush: Pick<Autopush, 'url'> | undefined,
): Readonly<Record<string, string | number | boolean>> {
  return {
    'dom.push.connection.enabled': autopush !== undefined,
    'dom.push.serverURL': autopush?.url ?? '',
    // Otherwise it refuses `ws:`.
    'dom.push.testing.allowInsecureServerURL': true,
    // No user can be asked for permission.
    'dom.push.testing.ignorePermission': true,
    'permissions.default.desktop-notification': 1,
    'dom.webnotifications.requireuserinteraction': false,
    'alerts.useSystemBackend': false,
    // A driver would turn push off.
    'remote.prefs.recommended': false,
    // It opens the address that it is given, and nothing else anywhere.
    'termsofuse.bypassNotification': true,
    'browser.aboutwelcome.enabled': false,
    'browser.shell.checkDefaultBrowser': false,
    'app.normandy.enabled': false,
    'app.update.enabled': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    'toolkit.telemetry.enabled': false,
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
  };
}
