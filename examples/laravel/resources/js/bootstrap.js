import './echo.js';
