import { expect, it, setDefaultTimeout } from 'bun:test';
import { startAutopush } from '../../testing/browsers/autopush.ts';
import { FIREFOX_START_MAX_MS, startFirefox } from '../../testing/browsers/firefox.ts';
import { driveFirstTab } from '../../testing/browsers/firefox-driver.ts';
import { INSTANCE, startPushServer } from '../../testing/servers/push-server.ts';
import { fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';
import { startProgram } from './program.ts';

/** `examples/web-push`, started as its README says, in a Firefox whose push service is on this machine. */

setDefaultTimeout(FIREFOX_START_MAX_MS);

it('subscribes after a click, and Firefox shows the notification that the backend sends', async () => {
  await using push = await startPushServer();
  await using site = await startProgram('web-push', 'start', {
    environment: {
      INSTANCE_ID: INSTANCE.id,
      SECRET_KEY: INSTANCE.secretKey,
      FANFARE_PUSH_PORT: new URL(push.url).port,
      PORT: '0',
    },
  });
  await using autopush = await startAutopush();
  await using firefox = await startFirefox(['about:blank'], { autopush, isDriven: true });
  using tab = await driveFirstTab(await firefox.driverUrl);
  // Before its hello to the push service, Firefox does not answer a page that asks for its subscription.
  await autopush.waitForHello();
  await tab.open(await site.origin);
  const click = (button: string) =>
    tab.run(`
      const list = document.querySelector('#said');
      const said = new Promise((resolve) => {
        new MutationObserver(() => resolve(list.lastChild.textContent)).observe(list, { childList: true });
      });
      document.querySelector('${button}').click();
      return await said;`);

  const [, device = ''] = /^subscribed as device (web-.+)$/.exec(await click('#subscribe')) ?? [];
  const [, publish = ''] = /^sent as publish (pubid-.+)$/.exec(await click('#send')) ?? [];

  const shown = await tab.run(`
    const worker = await navigator.serviceWorker.ready;
    for (;;) {
      const [notification] = await worker.getNotifications();
      if (notification) return notification.title + ': ' + notification.body;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }`);
  expect(shown).toBe('Donuts: They are out of the oven.');

  using directory = temporaryDirectory();
  const { adminPort, adminPassword = '' } = push.server;
  const admin = ['--url', `http://127.0.0.1:${adminPort}`];
  const args = ['push', 'explain', publish, device, ...admin];
  const environment = { FANFARE_ADMIN_PASSWORD: adminPassword };
  const explained = await fanfare(directory.path, args, environment);
  expect(explained).toMatchObject({ exitCode: 0, stderr: '' });
  expect(explained.stdout).toContain('accepted');
});

it('names the missing settings, and ends with 2', async () => {
  await using site = await startProgram('web-push', 'start');
  expect(await site.origin.catch((error: Error) => error.message)).toContain(
    'ended (2): Set INSTANCE_ID and SECRET_KEY',
  );
});
