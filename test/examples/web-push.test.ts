import { expect, it, setDefaultTimeout } from 'bun:test';
import { startAutopush } from '../../testing/browsers/autopush.ts';
import { FIREFOX_START_MAX_MS, startFirefox } from '../../testing/browsers/firefox.ts';
import { driveFirstTab } from '../../testing/browsers/firefox-driver.ts';
import { INSTANCE, startPushServer } from '../../testing/servers/push-server.ts';
import { startProgram } from './program.ts';

/** `examples/web-push`, started as its README says, in a Firefox whose push service is on this machine. */

setDefaultTimeout(FIREFOX_START_MAX_MS);

it('subscribes after a click, and Firefox shows the notification that the backend sends', async () => {
  await using server = await startPushServer();
  await using site = await startProgram('web-push', 'start', {
    environment: {
      INSTANCE_ID: INSTANCE.id,
      SECRET_KEY: INSTANCE.secretKey,
      FANFARE_PUSH_PORT: new URL(server.url).port,
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
      const state = document.querySelector('#state');
      const said = new Promise((resolve) => {
        new MutationObserver(() => resolve(state.textContent)).observe(state, { childList: true });
      });
      document.querySelector('${button}').click();
      return await said;`);

  expect(await click('#subscribe')).toBe('subscribed');
  expect(await click('#send')).toBe('sent');

  const shown = await tab.run(`
    const worker = await navigator.serviceWorker.ready;
    for (;;) {
      const [notification] = await worker.getNotifications();
      if (notification) return notification.title + ': ' + notification.body;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }`);
  expect(shown).toBe('Donuts: They are out of the oven.');
});

it('names the missing settings, and ends with 2', async () => {
  await using site = await startProgram('web-push', 'start');
  expect(await site.origin.catch((error: Error) => error.message)).toContain(
    'ended (2): Set INSTANCE_ID and SECRET_KEY',
  );
});
