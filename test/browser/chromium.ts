import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { Inbox } from '../../testing/inbox.ts';

/** A tab of the browser, with the reports that its page has sent with `report(...)`. */
export interface Tab {
  readonly page: Page;
  readonly reports: Inbox<readonly unknown[]>;
}

/** A browser whose tabs share cookies and storage, as those of one person do. */
export interface Chromium extends AsyncDisposable {
  /** Opens a page in a new tab. Waiting for a report of the tab fails when the page throws. */
  open(url: string): Promise<Tab>;
}

/**
 * Starts Chromium with a new profile that is removed at the end. Where there is one, it is the Chromium that can have no window
 * (`chromium-headless-shell`): it has the same engine and takes half the CPU time, but shows no notifications.
 */
export async function startChromium(): Promise<Chromium> {
  return await withTabs(await launch(found('chromium-headless-shell', ...WHOLE)));
}

/** Starts the whole Chromium, which has notifications. `prepare` is called before the first tab is opened. */
export async function startWholeChromium(
  prepare: (context: BrowserContext) => Promise<void>,
): Promise<Chromium> {
  return await withTabs(await launchChromium(), prepare);
}

async function withTabs(
  browser: Browser,
  prepare: (context: BrowserContext) => Promise<void> = async () => undefined,
): Promise<Chromium> {
  const context = await browser.newContext();
  // A busy machine is no fault of the page.
  context.setDefaultTimeout(90_000);
  await prepare(context);
  await keepProcess(context);
  const tabs = new Map<Page, Inbox<readonly unknown[]>>();
  await context.exposeBinding('report', ({ page }, ...args: unknown[]) => {
    tabs.get(page)?.put(args);
  });
  return {
    async open(url) {
      const page = await context.newPage();
      const reports = new Inbox<readonly unknown[]>(`The tab at ${url}`);
      tabs.set(page, reports);
      page.on('pageerror', (error) => reports.fail(error));
      await page.goto(url);
      return { page, reports };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
    },
  };
}

/**
 * Keeps an empty page of the site open, so that the process of the site outlives each tab: a tab in a new process needs
 * twice the CPU time.
 */
async function keepProcess(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.route('http://127.0.0.1/', (route) =>
    route.fulfill({ contentType: 'text/html', body: '' }),
  );
  await page.goto('http://127.0.0.1/');
}

/**
 * Features of Chromium that tests do without. The last list on the command line replaces those before it, so
 * that of Playwright is a part of this one.
 */
const FEATURES_OFF = [
  // Two pages behind the address bar of each window, which took a third of the CPU time of a start.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // Those of Playwright.
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'BlockOriginHeaderModificationOnRedirect',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  'GlobalMediaControls',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'Translate',
];

/** The names of the whole Chromium. */
const WHOLE = ['chromium', 'chromium-browser', 'google-chrome'];

function found(...names: readonly string[]): string {
  for (const name of names) {
    const path = Bun.which(name);
    if (path !== null) return path;
  }
  throw new Error('There is no Chromium on the PATH. Run: apt-get install chromium');
}

/** Starts the whole Chromium without a window, with more arguments if there are any. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return await launch(found(...WHOLE), args);
}

async function launch(executablePath: string, args: readonly string[] = []): Promise<Browser> {
  return await chromium.launch({
    executablePath,
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      // Nothing that a test does may reach the hosted service.
      '--host-resolver-rules=MAP *.pusher.com ~NOTFOUND',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-extensions',
      // All pages are of one site, and starting a process for each took a quarter of the CPU time.
      '--process-per-site',
      `--disable-features=${FEATURES_OFF.join(',')}`,
      ...args,
    ],
  });
}
