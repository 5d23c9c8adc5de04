import { X509Certificate } from 'node:crypto';
import { type Firefox, startFirefox } from '../../../testing/browsers/firefox.ts';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { type Names, startSocks } from '../../../testing/servers/socks.ts';
import { launchChromium } from '../../browser/chromium.ts';

/** Opens each page in a profile of its own. */
export async function openInChromium(
  urls: readonly string[],
  names: Names,
): Promise<AsyncDisposable> {
  const rules = Object.entries(names).map(([name, port]) => `MAP ${name} 127.0.0.1:${port}`);
  const browser = await launchChromium([
    `--host-resolver-rules=${[...rules, 'MAP *.pusher.com ~NOTFOUND'].join()}`,
  ]);
  for (const url of urls) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    await (await context.newPage()).goto(url);
  }
  return { [Symbol.asyncDispose]: () => browser.close() };
}

/** Opens each page in a tab. */
export async function openInFirefox(urls: readonly string[], names: Names): Promise<Firefox> {
  const proxy = await startSocks(names);
  const { fingerprint256 } = new X509Certificate(untrusted.cert);
  const trusted = Object.keys(names).filter((name) => name.endsWith(':443'));
  const firefox = await startFirefox(urls, {
    preferences: {
      'network.proxy.type': 1,
      'network.proxy.socks': '127.0.0.1',
      'network.proxy.socks_port': proxy.port,
      'network.proxy.socks_remote_dns': true,
      'network.proxy.no_proxies_on': '127.0.0.1',
      'network.proxy.allow_hijacking_localhost': true,
      // Only one tab is in front.
      'dom.min_background_timeout_value': 4,
      'dom.min_background_timeout_value_without_budget_throttling': 4,
      'dom.timeout.enable_budget_timer_throttling': false,
    },
    files: {
      // The number stands for SHA-256.
      'cert_override.txt': trusted
        .map((name) => `${name}:\tOID.2.16.840.1.101.3.4.2.1\t${fingerprint256}\t\n`)
        .join(''),
    },
  });
  return {
    ...firefox,
    async [Symbol.asyncDispose]() {
      await firefox[Symbol.asyncDispose]();
      proxy[Symbol.dispose]();
    },
  };
}
