import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/base.css';
import { App } from './app/App.tsx';
import { applyTheme } from './app/applyTheme.ts';
import { ErrorBoundary } from './app/ErrorBoundary.tsx';
import { keepDocument } from './app/keptDocument.ts';

applyTheme();
keepDocument();
const container = document.getElementById('app');
if (container)
  createRoot(container).render(
    <StrictMode>
      <ErrorBoundary>
        <App />
      </ErrorBoundary>
    </StrictMode>,
  );
