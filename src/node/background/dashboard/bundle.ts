import { ASSETS_PATH, type Asset, assetOf, type Bundle } from './assets.ts';
import { PAGE_FILE } from './page-file.ts';

const NAMING = '[name]-[hash].[ext]';

/**
 * Bundles the dashboard in memory for a path prefix. Takes about 50 ms, once. The build of the binary replaces this
 * module by one that contains the bundle.
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

/** The static imports of each asset. */
type Imports = ReadonlyMap<string, readonly string[]>;

function importsOf(metafile: Bun.BuildMetafile | undefined): Imports {
  return new Map(
    Object.entries(metafile?.outputs ?? {}).map(([path, { imports }]) => [
      nameOf(path),
      imports.filter(({ kind }) => kind === 'import-statement').map((one) => nameOf(one.path)),
    ]),
  );
}

/** The assets that the page names, and their static imports. Other assets load after the log-in. */
function openAssets(page: Asset, assets: Bundle['assets'], imports: Imports): ReadonlySet<string> {
  const text = new TextDecoder().decode(page.plain);
  const open = new Set([...assets.keys()].filter((name) => text.includes(name)));
  // Iterating a set includes elements that are added meanwhile.
  for (const name of open) for (const next of imports.get(name) ?? []) open.add(next);
  return open;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Bun's bundler reports style sheets as HTML. */
function typeOf(path: string, type: string): string {
  return path.endsWith('.css') ? 'text/css; charset=utf-8' : type;
}
