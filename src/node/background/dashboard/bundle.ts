import { ASSETS_PATH, type Asset, assetOf, type Bundle } from './assets.ts';
import { PAGE_FILE } from './page-file.ts';

const NAMING = '[name]-[hash].[ext]';

/**
 * Bundles the dashboard in memory, for browsers that reach it under a prefix of paths. Costs about 50 ms, once. The build of
 * the binary puts another module here, which has the bundle.
 */
export async function bundleDashboard(pathPrefix: string): Promise<Bundle> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [PAGE_FILE],
    target: 'browser',
    minify: true,
    splitting: true,
    publicPath: pathPrefix + ASSETS_PATH,
    naming: { entry: NAMING, chunk: NAMING, asset: NAMING },
    define: { 'process.env.NODE_ENV': '"production"' },
    env: 'disable',
    metafile: true,
  });
  const assets = new Map<string, Asset>();
  let page: Asset | undefined;
  for (const output of outputs) {
    const isPage = output.path.endsWith('.html');
    const plain = new Uint8Array(await output.arrayBuffer());
    const contentType = isPage ? 'text/html; charset=utf-8' : typeOf(output.path, output.type);
    const asset = assetOf(contentType, plain);
    if (isPage) page = asset;
    else assets.set(nameOf(output.path), asset);
  }
  if (page === undefined) throw new Error('The bundle of the dashboard has no page');
  return { page, assets, open: openAssets(page, assets, importsOf(metafile)) };
}

/** The assets that each asset imports at once. */
type Imports = ReadonlyMap<string, readonly string[]>;

function importsOf(metafile: Bun.BuildMetafile | undefined): Imports {
  return new Map(
    Object.entries(metafile?.outputs ?? {}).map(([path, { imports }]) => [
      nameOf(path),
      imports.filter(({ kind }) => kind === 'import-statement').map((one) => nameOf(one.path)),
    ]),
  );
}

/** What the page names, and what that imports. The rest is loaded after the log-in. */
function openAssets(page: Asset, assets: Bundle['assets'], imports: Imports): ReadonlySet<string> {
  const text = new TextDecoder().decode(page.plain);
  const open = new Set([...assets.keys()].filter((name) => text.includes(name)));
  // A set gives what is added while it is walked through.
  for (const name of open) for (const next of imports.get(name) ?? []) open.add(next);
  return open;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The bundler calls styles HTML. */
function typeOf(path: string, type: string): string {
  return path.endsWith('.css') ? 'text/css; charset=utf-8' : type;
}
