import { PageHead } from '../../parts/page-head.tsx';
import { nameOfId } from '../../shell/apps.ts';
import { FirstSteps } from './first-steps.tsx';

/** How does something connect to this app? */
export default function ConnectPage({ app }: { readonly app: string }) {
  return (
    <div class="page">
      <PageHead
        title="Connect"
        of={app}
        says={`Code for ${nameOfId(app)}, with its real key and address. Or connect this tab and see an event arrive.`}
      />
      <FirstSteps app={app} title="From nothing to the first event" />
    </div>
  );
}
