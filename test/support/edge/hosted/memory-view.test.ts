import { createMemoryView, type MemoryState } from './memory-view.ts';
import { describeView, type ViewFixture } from './view-suite.ts';

function fixture(state?: MemoryState): ViewFixture {
  const view = createMemoryView(state);
  return {
    writer: view,
    reader: view,
    reopen: async () => fixture(view.state),
    dispose: () => view.close(),
  };
}

describeView('memory view', async () => fixture());
