import { source as AXE } from 'axe-core';
import type { Page } from 'playwright-core';
import { isLong } from '../../testing/long-run.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import type { Chromium } from './chromium.ts';

/** A tab with the dashboard. */
export interface DashboardTab {
  readonly page: Page;
  /** What the browser has complained about so far: messages of the console and thrown errors. */
  readonly complaints: readonly string[];
}

/** The password of the servers of these tests. */
export const PASSWORD = 'a password of tests';

/** Opens a page of the dashboard, and logs in. */
export async function openDashboard(
  server: Pick<Fanfare, 'adminPort'>,
  browser: Chromium,
  path = '',
): Promise<DashboardTab> {
  const { page } = await browser.open('about:blank');
  const complaints: string[] = [];
  const url = `http://127.0.0.1:${server.adminPort}/dashboard`;
  // Chromium reports every answer that refuses, also the first one, which asks for the log-in.
  const answer = await page.request.post(`http://127.0.0.1:${server.adminPort}/api/v1/session`, {
    data: { password: PASSWORD },
  });
  if (answer.status() !== 200) throw new Error(`No log-in: ${answer.status()}`);
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url + path);
  await page.locator('h1').waitFor();
  return { page, complaints };
}

/** The rules of axe: everything in WCAG 2.2 AA, and what it calls best practice. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * What axe finds wrong with a page as it is now, one line for each element. `rules` are those to check; all if left out. `within`
 * selects the part that is checked: rules for whole pages, such as those for landmarks, are left out then.
 */
export async function axe(
  page: Page,
  { rules, within }: { readonly rules?: readonly string[]; readonly within?: string } = {},
): Promise<readonly string[]> {
  const isLoaded = await page.evaluate('globalThis.axe !== undefined');
  if (!isLoaded) await page.evaluate(AXE);
  const wanted =
    rules === undefined ? { type: 'tag', values: TAGS } : { type: 'rule', values: rules };
  return await page.evaluate(
    async ({ wanted: runOnly, within }) => {
      const { axe } = globalThis as unknown as {
        axe: {
          run(
            within: string,
            options: object,
          ): Promise<{
            violations: readonly {
              id: string;
              nodes: readonly { html: string; failureSummary?: string }[];
            }[];
          }>;
        };
      };
      const { violations } = await axe.run(within ?? 'html', {
        runOnly,
        resultTypes: ['violations'],
      });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
    },
    { wanted, within },
  );
}

/**
 * The links that stand beside text in their block and differ from it by their colour alone. axe finds those only where the
 * text is longer than the link.
 */
const BARE_LINKS = `[...document.querySelectorAll('a')].filter((link) => {
  const { display, textDecorationLine } = getComputedStyle(link);
  if (link.offsetParent === null || display !== 'inline') return false;
  let block = link.parentElement;
  while (getComputedStyle(block).display === 'inline') block = block.parentElement;
  return textDecorationLine !== 'underline' && block.textContent.trim() !== link.textContent.trim();
}).map((link) => 'only its colour shows the link: ' + link.parentElement.outerHTML)`;

/** Rules that depend on the colours, and on where things stand. */
const LOOK_RULES = ['color-contrast', 'target-size', 'scrollable-region-focusable'];

/** What is checked in each look: all rules once, and what may differ in the other colours and width. All rules take seconds. */
const LOOKS = [
  { width: 1280, colorScheme: 'light', rules: undefined },
  { width: 390, colorScheme: 'dark', rules: LOOK_RULES },
] as const;

/** The other looks, in a long run. */
const MORE_LOOKS = [
  { width: 1280, colorScheme: 'dark', rules: undefined },
  { width: 390, colorScheme: 'light', rules: undefined },
] as const;

/**
 * What is wrong with a page in the widths and colours that it may have: what axe finds, scrolling sideways, no first line.
 * `isFrameKnown`: the frame around the page was checked with another page, so its colours are not checked again.
 */
export async function lookFaults(
  page: Page,
  { isFrameKnown = false }: { readonly isFrameKnown?: boolean } = {},
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { width, colorScheme, rules } of isLong ? [...LOOKS, ...MORE_LOOKS] : LOOKS) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const isWhole = isLong || rules === undefined;
    const found = await axe(
      page,
      isWhole ? {} : { rules, ...(isFrameKnown && { within: 'main' }) },
    );
    faults.push(...found.map((fault) => `${colorScheme} ${width}: ${fault}`));
    faults.push(...((await page.evaluate(BARE_LINKS)) as readonly string[]));
    const sideways = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (sideways !== 0) faults.push(`${width}: scrolls sideways by ${sideways}`);
    const send = page.getByRole('main').locator('h1 + p');
    if (!(await send.isVisible()) || (await send.textContent()) === '') {
      faults.push(`${width}: no first line that answers the question of the page`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 844 });
  return faults;
}
