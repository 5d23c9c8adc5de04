import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSocks } from '../../testing/servers/socks.ts';
import { checkLibraries, must } from './program.ts';
import { HOSTED } from './scene.ts';

/** The libraries of Pusher for Java, as Maven Central has them. */

/** Leads nowhere but through the proxy. Source: RFC 5737, 3. */
const NOWHERE = '192.0.2.1';

await checkLibraries({
  name: 'Java',
  folder: 'java',
  version: ['java', '-version'],
  pins: 'pom.xml',
  pinned: (name, pins) => {
    const version = new RegExp(`<artifactId>${name}</artifactId>\\s*<version>(.+?)</version>`).exec(
      pins,
    )?.[1];
    return version === undefined ? undefined : { name, version };
  },
  async install({ source, folder, told, parts }) {
    const [libraries, classes] = [join(folder, 'libraries'), join(folder, 'classes')];
    await must(
      [
        'mvn',
        '--batch-mode',
        '--quiet',
        'dependency:copy-dependencies',
        `-DoutputDirectory=${libraries}`,
      ],
      source,
    );
    const files = readdirSync(source).filter((name) => name.endsWith('.java'));
    const classPath = `${classes}:${libraries}/*`;
    await must(['javac', '-encoding', 'UTF-8', '-d', classes, '-cp', classPath, ...files], source);

    // The Beams library knows only the hosted name. Names come from a file, the connections from a proxy, and the
    // certificate of the server is the one authority.
    const [hosts, trusted] = [join(folder, 'hosts'), join(folder, 'trusted.p12')];
    writeFileSync(hosts, `127.0.0.1 localhost\n${NOWHERE} ${HOSTED}\n`);
    const store = ['-keystore', trusted, '-storepass', 'changeit', '-storetype', 'PKCS12'];
    await must(
      ['keytool', '-importcert', '-noprompt', '-alias', 'ca', '-file', told.caFile, ...store],
      folder,
    );
    const proxy = parts.use(await startSocks({ [`${NOWHERE}:443`]: told.pushPort }));
    return [
      'java',
      '-Dfile.encoding=UTF-8',
      `-Djdk.net.hosts.file=${hosts}`,
      '-DsocksProxyHost=127.0.0.1',
      `-DsocksProxyPort=${proxy.port}`,
      `-Djavax.net.ssl.trustStore=${trusted}`,
      '-Djavax.net.ssl.trustStorePassword=changeit',
      '-cp',
      classPath,
      'Main',
    ];
  },
});
