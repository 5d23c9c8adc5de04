const { randomBytes, randomUUID } = require('node:crypto');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { Gateways } = require('./gateways.cjs');
const { Programs } = require('./programs.cjs');

/*
 * `fanfare/testing`: a real server for the tests of an app. Plain JavaScript without packages, because callers run Node.js or
 * Bun. CommonJS, because Jest runs nothing else without a flag.
 */

/** Starts a server on free ports, with an app and a push instance of its own. It keeps everything in a temporary folder. */
async function startFanfare({ config = {}, fakeGateways = false } = {}) {
  const programs = new Programs();
  try {
    const gateways = fakeGateways ? await Gateways.start(programs) : undefined;
    const file = join(programs.directory, 'fanfare.json');
    const settings = settingsOf(config, programs.directory, gateways?.settings);
    writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
    const args = ['serve', '--config', file, '--json', '--secret'];
    const started = JSON.parse(await programs.start(args));
    const server = {
      channels: addressOf(started.channels),
      push: addressOf(started.push),
      admin: addressOf(started.admin),
      app: started.app,
      instance: started.instance,
      stop: () => programs.stop(),
    };
    if (gateways !== undefined) server.gateways = gateways.of(server);
    if (Symbol.asyncDispose !== undefined) server[Symbol.asyncDispose] = server.stop;
    return server;
  } catch (error) {
    await programs.stop();
    throw error;
  }
}

function settingsOf(config, directory, gateways) {
  const here = { host: '127.0.0.1', port: 0 };
  const push = { ...here, ...config.push };
  if (gateways !== undefined) {
    const own = { id: randomUUID(), name: 'test', secretKeys: [randomBytes(32).toString('hex')] };
    push.instances = (push.instances ?? [own]).map((instance) => ({ ...gateways, ...instance }));
  }
  return {
    drainSeconds: 0,
    store: { url: `sqlite:${join(directory, 'fanfare.db')}` },
    ...config,
    channels: { ...here, ...config.channels },
    push,
    admin: { ...here, ...config.admin },
    log: { level: 'warn', ...config.log },
  };
}

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { url, host: hostname, port: Number(port) };
}

module.exports = { startFanfare };
